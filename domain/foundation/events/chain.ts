/** The current state of a tenant's chain: its last head, and where its retained part begins. */
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

/** A difference between the log and its seals. */
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
  /** The event, if the finding concerns one. */
  eventId?: string;
  /** The batch, if the finding concerns one. */
  seq?: number;
}
