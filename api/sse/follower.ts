/** A reader of a response's events. */
export interface Follower {
  readonly tenantId: string;
  readonly responseId: string;
  /** The last delivered sequence number. */
  after: number;
  /** False while earlier lines are still being sent to the reader; `Attachment.resume` requests more. */
  isReady(): boolean;
  /** Stored event lines after `after`, in order. */
  deliver(lines: string[]): void;
  /** The caller's permissions may have changed. Resolves when they were checked, whatever the result. */
  recheck(): Promise<void>;
}
