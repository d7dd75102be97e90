/** A start or cancel owed to the workflow engine, as the outbox holds it: ids only. */
export interface Dispatch {
  tenantId: string;
  id: string;
  kind: 'start' | 'cancel';
  workflowType: WorkflowType;
  workflowId: string;
  payload: Record<string, string | number>;
}

export type WorkflowType =
  | 'generateResponse'
  | 'ingestDocument'
  | 'discoverTools'
  | 'traceResponse'
  | 'fanOutEvent';

/** Sends what the outbox holds. Implemented beside the Temporal client. */
export interface Dispatcher {
  /** Sends one row and removes it; never throws: what fails is sent again from the outbox. */
  dispatch(row: Dispatch): Promise<void>;
}
