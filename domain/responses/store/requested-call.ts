import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { ProviderState } from '#domain/responses/record/provider-state.ts';
import type { ResponseChange } from './response-change.ts';
import type { OfferedMcpTool } from '#domain/responses/record/response-request.ts';

/** The result of a tool search for the model, and the tools offered from its next turn on. */
export interface FoundTools {
  result: string;
  offers: OfferedMcpTool[];
}

/** A call as the model requested it. `arguments` is unchecked JSON text. */
export interface RequestedCall {
  name: string;
  arguments: string;
  /** State that the provider needs back with the call. */
  providerState?: ProviderState | null;
  /** Of a search for tools. */
  found?: FoundTools;
}

/** What planning a call needs, to add it to the ledger or return it to the caller. */
export interface Planning {
  change: ResponseChange;
  secrets: Secrets;
}
