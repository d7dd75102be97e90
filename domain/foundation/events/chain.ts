/** A tenant's chain as it stands: its last head, and where the kept part begins. */
export interface ChainRow {
  seq: number;
  events: number;
  head: string;
  xid: string;
  id: string;
  checkpoint_seq: number;
  checkpoint_count: number;
  checkpoint_head: string;
  now: Date;
}

/** What is not as it was sealed. */
export interface Finding {
  kind:
    | 'event_changed'
    | 'event_missing'
    | 'event_added'
    | 'batch_changed'
    | 'batch_missing'
    | 'content_missing'
    | 'head_changed'
    | 'anchor_differs'
    | 'checkpoint_moved';
  /** The event, where one can be named. */
  eventId?: string;
  /** The batch, where one can be named. */
  seq?: number;
}
