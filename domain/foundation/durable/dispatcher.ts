import type { Dispatch } from './messages.ts';

/** Sends the messages of the outbox. Implemented beside the Temporal client. */
export interface Dispatcher {
  /**
   * Sends one row and deletes it; never throws: a failed message is sent again from the outbox.
   * @returns whether the row was deleted; while it was not, later rows of its workflow must wait
   */
  dispatch(row: Dispatch): Promise<boolean>;
}
