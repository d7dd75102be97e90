/** Where one model of a vendor is reached, and with which key. */
export interface VendorConnection {
  baseURL: string;
  /** Empty: none, or one that `fetch` sends in a header of its own. */
  apiKey: string;
  fetch: typeof globalThis.fetch;
  /** Sets the stored credential that `fetch` sends apart from others, by whom it is used for. */
  identity?: string;
  /** Of a stored credential: all that must not come back. */
  secrets?: readonly string[];
}
