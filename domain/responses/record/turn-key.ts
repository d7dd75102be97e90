/** Identifies a turn of a response. */
export interface TurnKey {
  tenantId: string;
  responseId: string;
  /** From 0. */
  iteration: number;
}

/** Identifies a call of a turn. */
export interface CallKey extends TurnKey {
  /** From 0, within its turn. */
  callIndex: number;
}
