/** A function of the schema `app`: called in the transaction of a batch with the tenant, `id`, its table and its rows. */
export interface BatchNote {
  call: string;
  id: string;
}
