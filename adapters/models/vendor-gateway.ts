import { setTimeout as sleep } from 'node:timers/promises';
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  type SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import {
  ModelFailure,
  type ModelGateway,
  type ModelPart,
  type ModelRequest,
} from '#domain/capabilities/models/model-gateway.ts';
import type { CredentialSource } from '#domain/capabilities/credentials/credential-source.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import type { AnswerShare, AnswerShares } from '../egress/answer-shares.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { beforeIdle, idleMsOf, openingMsOf, withIdleLimit } from './idle-limit.ts';
import { withoutKey } from './key-remover.ts';
import { toModelFailure } from './model-failures.ts';
import { readStored, sendingHeader } from './stored-key.ts';
import type { BackgroundRun } from './openai-background.ts';
import type { VendorConnection } from './vendor-connection.ts';
import { PartReader } from './vendor-parts.ts';
import { toCallOptions, type Prompting } from './vendor-prompt.ts';

export interface VendorOptions extends BoundedFetchOptions {
  /** Reads the environment variable that holds a vendor's key, if the key may be sent to that address. */
  credential(ref: string, url: string): string | undefined;
  /** Source of the credentials that tenants have stored. */
  stored?: CredentialSource;
  shares?: AnswerShares;
}

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

/** The differences of one provider kind; everything else of a call is shared. */
export interface Dialect {
  /** Default address, used when the model's row has none. */
  baseUrl: string;
  /** Whether the vendor's reasoning text is a summary, meant for people. */
  summarises: boolean;
  prompting: Prompting;
  /** `run`: the call runs on the vendor's side. */
  connect(
    request: ModelRequest,
    connection: VendorConnection,
  ): { model: LanguageModelV4; run?: Omit<BackgroundRun, 'fetch'> };
  /** Settings of the call in the provider's own terms. */
  options(request: ModelRequest): {
    maxOutputTokens?: number;
    reasoning?: NonNullable<LanguageModelV4CallOptions['reasoning']>;
    providerOptions: ProviderOptions;
  };
}

/**
 * Max size of one call's answer: a server that ignores its limit must not fill the process's memory. `characters`
 * counts text, reasoning and arguments; `beside` counts names, calls and state that the vendor wants back, some of it
 * several times; `items` counts texts, reasoning and calls, since each costs memory and rows however short it is.
 */
const max = { characters: 2_000_000, beside: 16_000_000, items: 4_000 };

const announceAfterMs = 200;

/** A gateway on a package's lower interface: one call, no retry, no loop. */
export function vendorGateway(dialect: Dialect, options: VendorOptions): ModelGateway {
  return {
    async *stream(request, signal): AsyncGenerator<ModelPart> {
      let run: Omit<BackgroundRun, 'fetch'> | undefined;
      const silence = new AbortController();
      const stopped = AbortSignal.any([signal, silence.signal]);
      try {
        const connection = await connectionOf(request, dialect, options);
        const connected = dialect.connect(request, connection);
        ({ run } = connected);
        const opening = Promise.resolve(
          connected.model.doStream({
            ...toCallOptions(request, dialect.prompting),
            ...dialect.options(request),
            abortSignal: stopped,
          }),
        );
        yield* withoutKey(connection.apiKey, announce(run, opening), connection.secrets);
        const { stream } = await beforeIdle(opening, openingMsOf(request.model));
        const parts = readAll(request, stream, {
          summarises: dialect.summarises,
          share: options.shares?.of(request.tenantId),
          signal: stopped,
        });
        yield* withoutKey(connection.apiKey, parts, connection.secrets);
      } catch (error) {
        signal.throwIfAborted();
        throw run?.found() === true &&
          APICallError.isInstance(error) &&
          AnswerLimitExceeded.in(error) === null
          ? // The run itself failed, and a later read returns the same.
            new ModelFailure('run_lost', { retryable: true, retryAfterMs: 1 })
          : toModelFailure(error);
      } finally {
        silence.abort();
      }
    },
  };
}

/**
 * The package opens a stream when its run has begun to answer; until then a run may wait at the vendor for minutes. A
 * run that ends within the first moment is not read again.
 */
async function* announce(
  run: Omit<BackgroundRun, 'fetch'> | undefined,
  opening: Promise<{ stream: ReadableStream<LanguageModelV4StreamPart> }>,
): AsyncGenerator<ModelPart> {
  if (run === undefined) {
    return;
  }
  let received = false;
  try {
    await Promise.race([opening, run.named.then(() => sleep(announceAfterMs))]);
    const id = run.id();
    if (id !== null) {
      yield { type: 'run', id };
    }
    received = true;
  } finally {
    if (!received) {
      void opening.then(({ stream }) => stream.cancel()).catch(() => undefined);
    }
  }
}

async function* readAll(
  request: ModelRequest,
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { summarises, share, signal }: { summarises: boolean; share: AnswerShare | undefined; signal: AbortSignal },
): AsyncGenerator<ModelPart> {
  const reader = new PartReader({ summarises, resumed: request.resume !== null });
  const taken = { characters: 0, beside: 0, items: 0 };
  try {
    for await (const part of withIdleLimit(stream, idleMsOf(request.model))) {
      const [said, beside] = [lengthOf(part), lengthBeside(part)];
      taken.characters += said;
      taken.beside += beside;
      taken.items += beginsItem(part) ? 1 : 0;
      const isRoom = (await share?.reserve(said + beside, signal)) ?? true;
      if (
        taken.characters > maxCharactersOf(request) ||
        taken.beside > max.beside ||
        taken.items > max.items ||
        !isRoom
      ) {
        throw new ModelFailure('model_error', { retryable: !isRoom });
      }
      yield* reader.read(part);
    }
  } finally {
    share?.forget(taken.characters + taken.beside);
  }
}

/**
 * Max plausible characters for a number of tokens: a server that exceeds it ignores its output limit, and is cut off.
 */
function maxCharactersOf({ maxOutputTokens, model, resume }: ModelRequest): number {
  // A resumed run is read from its start.
  const tokens = resume === null ? maxOutputTokens : model.maxOutputTokens;
  return Math.min(max.characters, 65_536 + 32 * tokens);
}

function beginsItem({ type }: LanguageModelV4StreamPart): boolean {
  return type === 'text-start' || type === 'reasoning-start' || type === 'tool-call';
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

function lengthBeside(part: LanguageModelV4StreamPart): number {
  switch (part.type) {
    case 'text-start':
    case 'reasoning-start':
      return part.id.length + stateLength(part);
    case 'text-delta':
    case 'reasoning-delta':
    case 'text-end':
    case 'reasoning-end':
      return stateLength(part);
    case 'tool-input-start':
      return part.id.length + part.toolName.length;
    case 'tool-call':
      return part.toolName.length + part.input.length + stateLength(part);
    default:
      return 0;
  }
}

function stateLength({ providerMetadata }: { providerMetadata?: SharedV4ProviderMetadata }): number {
  return providerMetadata === undefined ? 0 : JSON.stringify(providerMetadata).length;
}

interface Connectable {
  model: Pick<ModelRequest['model'], 'baseUrl' | 'credentialRef' | 'stored'>;
  tenantId?: string;
}

/** @throws ModelFailure where a stored credential cannot be sent to the model's address */
export async function connectionOf(
  { model, tenantId }: Connectable,
  dialect: Pick<Dialect, 'baseUrl'>,
  options: VendorOptions,
  use: 'model' | 'embedding' | 'reranking' = 'model',
): Promise<VendorConnection> {
  const baseURL = model.baseUrl ?? dialect.baseUrl;
  const apiKey = model.credentialRef === null ? undefined : options.credential(model.credentialRef, baseURL);
  // Without a key from here the packages would read one from the environment.
  const share = tenantId === undefined ? undefined : options.shares?.of(tenantId);
  const fetch = boundedFetch(use, { ...options, share });
  if (model.stored === undefined) {
    return { baseURL, apiKey: apiKey ?? '', fetch, identity: JSON.stringify([tenantId ?? null]) };
  }
  const { token, header, secrets, version } = await readStored(options.stored, {
    ...model.stored,
    url: baseURL,
  });
  return {
    baseURL,
    apiKey: token ?? '',
    fetch: token === null ? sendingHeader(fetch, header) : fetch,
    identity: JSON.stringify([tenantId ?? null, model.stored, version]),
    secrets,
  };
}
