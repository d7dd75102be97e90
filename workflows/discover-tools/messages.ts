export type { DiscoverToolsInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface DiscoverToolsResult {
  /** The server's status afterwards; `gone`: it was removed. */
  status: string;
  tools: number;
  /** Why the discovery failed. Missing in results of earlier versions. */
  error?: string;
}

export interface DiscoverToolsEnd {
  /** `failed`: the discovery failed; else the server's status afterwards. */
  status: string;
  reason: string | null;
  tools: number;
}
