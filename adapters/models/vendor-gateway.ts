import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import {
  ModelFailure,
  type ModelGateway,
  type ModelPart,
  type ModelRequest,
} from '#domain/models/model-gateway.ts';
import { idleMsOf, withIdleLimit } from './idle-limit.ts';
import { toModelFailure } from './model-failures.ts';
import { PartReader } from './vendor-parts.ts';
import { toCallOptions, type Prompting } from './vendor-prompt.ts';

export interface VendorOptions {
  fetch: typeof globalThis.fetch;
  /** The value of an environment variable that holds a vendor's key, if it may go to that address. */
  credential(ref: string, url: string): string | undefined;
}

export interface Connection {
  baseURL: string;
  /** Empty: none. */
  apiKey: string;
  fetch: typeof globalThis.fetch;
}

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

/** What sets one provider kind apart; everything else of a call is shared. */
export interface Dialect {
  /** Where it is reached when the model's row does not say. */
  baseUrl: string;
  /** Whether what it says of its reasoning is a summary, meant for people. */
  summarises: boolean;
  prompting: Prompting;
  /** `runId` gives the vendor's own run as soon as the vendor has named it. */
  connect(
    request: ModelRequest,
    connection: Connection,
  ): { model: LanguageModelV4; runId?: () => string | null };
  /** Settings of the call in the provider's own words. */
  options(request: ModelRequest): {
    maxOutputTokens?: number;
    reasoning?: NonNullable<LanguageModelV4CallOptions['reasoning']>;
    providerOptions: ProviderOptions;
  };
}

/** Characters of one call, thoughts and arguments included: a server that ignores its limit must not fill our memory. */
const mostCharacters = 16_000_000;

/** A provider kind by its package's lower interface: one call, no retry, no loop. */
export function vendorGateway(dialect: Dialect, options: VendorOptions): ModelGateway {
  return {
    async *stream(request, signal): AsyncGenerator<ModelPart> {
      try {
        const { model, runId } = dialect.connect(request, connectionOf(request, dialect, options));
        const { stream } = await model.doStream({
          ...toCallOptions(request, dialect.prompting),
          ...dialect.options(request),
          abortSignal: signal,
        });
        const reader = new PartReader({ summarises: dialect.summarises, resumed: request.resume !== null });
        let announced: string | null = null;
        let characters = 0;
        for await (const part of withIdleLimit(stream, idleMsOf(request.model))) {
          const run = runId?.() ?? null;
          if (run !== announced && run !== null) {
            announced = run;
            yield { type: 'run', id: run };
          }
          characters += lengthOf(part);
          if (characters > mostCharacters) {
            throw new ModelFailure('model_error', { retryable: false });
          }
          yield* reader.read(part);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw toModelFailure(error);
      }
    },
  };
}

function lengthOf(part: LanguageModelV4StreamPart): number {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return part.delta.length;
    default:
      return 0;
  }
}

export function connectionOf(
  { model }: Pick<ModelRequest, 'model'>,
  dialect: Pick<Dialect, 'baseUrl'>,
  options: VendorOptions,
): Connection {
  const baseURL = model.baseUrl ?? dialect.baseUrl;
  const apiKey = model.credentialRef === null ? undefined : options.credential(model.credentialRef, baseURL);
  // Without one of ours the packages would look for a key in the environment.
  return { baseURL, apiKey: apiKey ?? '', fetch: options.fetch };
}
