import type { Dispatch } from './messages.ts';

/** Sends what the outbox holds. Implemented beside the Temporal client. */
export interface Dispatcher {
  /**
   * Sends one row and removes it; never throws: what fails is sent again from the outbox.
   * @returns whether the row is gone; while it is not, the rows of its workflow behind it must wait
   */
  dispatch(row: Dispatch): Promise<boolean>;
}
