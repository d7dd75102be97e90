/** Temporal's workflows of one tenant, those of its deletion excluded. Implemented beside the Temporal client. */
export interface TenantWorkflows {
  /** Ids of at most `limit` open workflows. The list may lag behind Temporal. */
  listOpen(tenantId: string, limit: number): Promise<string[]>;
  /** Those of `ids` that are open, asked one by one: this answer does not lag. */
  openOf(ids: readonly string[]): Promise<string[]>;
  /** Does nothing if the workflow is not running. */
  cancel(workflowId: string): Promise<void>;
  /** Ends a workflow that does not end on a cancel, without its code. */
  terminate(workflowId: string): Promise<void>;
  /** Deletes all listed histories, and goes on until none is listed or the list no longer changes. @returns how many there were */
  deleteClosed(tenantId: string): Promise<number>;
  /** How many Temporal lists, open and closed. */
  countListed(tenantId: string): Promise<number>;
}
