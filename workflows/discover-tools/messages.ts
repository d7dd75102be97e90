export type { DiscoverToolsInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface DiscoverToolsResult {
  /** The server's status afterwards; `gone`: it was removed. */
  status: string;
  tools: number;
  /** Why the server could not be read. Results of earlier versions lack it. */
  error?: string;
}

export interface DiscoverToolsEnd {
  /** `failed`: the server could not be read; else its status afterwards. */
  status: string;
  reason: string | null;
  tools: number;
}
