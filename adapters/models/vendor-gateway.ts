import { setTimeout as sleep } from 'node:timers/promises';
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import {
  ModelFailure,
  type ModelGateway,
  type ModelPart,
  type ModelRequest,
} from '#domain/models/model-gateway.ts';
import { idleMsOf, withIdleLimit } from './idle-limit.ts';
import { toModelFailure } from './model-failures.ts';
import type { BackgroundRun } from './openai-background.ts';
import type { VendorConnection } from './vendor-connection.ts';
import { PartReader } from './vendor-parts.ts';
import { toCallOptions, type Prompting } from './vendor-prompt.ts';

export interface VendorOptions {
  fetch: typeof globalThis.fetch;
  /** The value of an environment variable that holds a vendor's key, if it may go to that address. */
  credential(ref: string, url: string): string | undefined;
}

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

/** What sets one provider kind apart; everything else of a call is shared. */
export interface Dialect {
  /** Where it is reached when the model's row does not say. */
  baseUrl: string;
  /** Whether what it says of its reasoning is a summary, meant for people. */
  summarises: boolean;
  prompting: Prompting;
  /** `run`: the call runs on the vendor's side. */
  connect(
    request: ModelRequest,
    connection: VendorConnection,
  ): { model: LanguageModelV4; run?: Omit<BackgroundRun, 'fetch'> };
  /** Settings of the call in the provider's own words. */
  options(request: ModelRequest): {
    maxOutputTokens?: number;
    reasoning?: NonNullable<LanguageModelV4CallOptions['reasoning']>;
    providerOptions: ProviderOptions;
  };
}

/** Characters of one call, thoughts and arguments included: a server that ignores its limit must not fill our memory. */
const mostCharacters = 16_000_000;

const announceAfterMs = 200;

/** A provider kind by its package's lower interface: one call, no retry, no loop. */
export function vendorGateway(dialect: Dialect, options: VendorOptions): ModelGateway {
  return {
    async *stream(request, signal): AsyncGenerator<ModelPart> {
      let run: Omit<BackgroundRun, 'fetch'> | undefined;
      try {
        const connected = dialect.connect(request, connectionOf(request, dialect, options));
        ({ run } = connected);
        const opening = Promise.resolve(
          connected.model.doStream({
            ...toCallOptions(request, dialect.prompting),
            ...dialect.options(request),
            abortSignal: signal,
          }),
        );
        yield* run === undefined ? [] : announce(run, opening);
        yield* readAll(request, dialect.summarises, (await opening).stream);
      } catch (error) {
        signal.throwIfAborted();
        throw run?.found() === true && APICallError.isInstance(error)
          ? // The run itself has failed, and will not do otherwise the next time.
            new ModelFailure('run_lost', { retryable: true, retryAfterMs: 1 })
          : toModelFailure(error);
      }
    },
  };
}

/**
 * The package opens a stream when its run has begun to answer; until then a run may wait at the vendor for minutes. One
 * that ends in the first moment is not worth a second look.
 */
async function* announce(
  run: Omit<BackgroundRun, 'fetch'>,
  opening: Promise<{ stream: ReadableStream<LanguageModelV4StreamPart> }>,
): AsyncGenerator<ModelPart> {
  let heard = false;
  try {
    await Promise.race([opening, run.named.then(() => sleep(announceAfterMs))]);
    const id = run.id();
    if (id !== null) {
      yield { type: 'run', id };
    }
    heard = true;
  } finally {
    if (!heard) {
      void opening.then(({ stream }) => stream.cancel()).catch(() => undefined);
    }
  }
}

async function* readAll(
  request: ModelRequest,
  summarises: boolean,
  stream: ReadableStream<LanguageModelV4StreamPart>,
): AsyncGenerator<ModelPart> {
  const reader = new PartReader({ summarises, resumed: request.resume !== null });
  let characters = 0;
  for await (const part of withIdleLimit(stream, idleMsOf(request.model))) {
    characters += lengthOf(part);
    if (characters > mostCharacters) {
      throw new ModelFailure('model_error', { retryable: false });
    }
    yield* reader.read(part);
  }
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
): VendorConnection {
  const baseURL = model.baseUrl ?? dialect.baseUrl;
  const apiKey = model.credentialRef === null ? undefined : options.credential(model.credentialRef, baseURL);
  // Without one of ours the packages would look for a key in the environment.
  return { baseURL, apiKey: apiKey ?? '', fetch: options.fetch };
}
