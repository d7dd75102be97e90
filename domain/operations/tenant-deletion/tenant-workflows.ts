/** Temporal's workflows of one tenant, those of its deletion excluded. Implemented beside the Temporal client. */
export interface TenantWorkflows {
  /**
   * Ids of open workflows. The list may lag behind Temporal, so it is compared with what the rows say.
   * @param limit max ids
   */
  listOpen(tenantId: string, limit: number): Promise<string[]>;
  /** Whether any of `ids` is open, asked one by one. */
  openOf(ids: readonly string[]): Promise<string[]>;
  /** Does nothing to one that is not running. */
  cancel(workflowId: string): Promise<void>;
  /** Ends it without its code, for one that does not end on a cancel. */
  terminate(workflowId: string, reason: string): Promise<void>;
  /** Deletes closed histories. @returns the number of those found; 0 when none is listed any more */
  deleteClosed(tenantId: string, limit: number): Promise<number>;
}
