import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { ProviderState } from '#domain/responses/record/provider-state.ts';
import type { ResponseChange } from './response-change.ts';
import type { OfferedMcpTool } from '#domain/responses/record/response-request.ts';

/** What a search came to: what the model is told, and what it is offered from its next turn on. */
export interface FoundTools {
  result: string;
  offers: OfferedMcpTool[];
}

/** A call as the model asked for it. `arguments` is JSON text, not yet checked. */
export interface RequestedCall {
  name: string;
  arguments: string;
  /** What the provider wants back with it. */
  providerState?: ProviderState | null;
  /** Of a search for tools. */
  found?: FoundTools;
}

/** What it takes to put a call where it belongs: into the ledger, or back to the caller. */
export interface Planning {
  change: ResponseChange;
  secrets: Secrets;
}
