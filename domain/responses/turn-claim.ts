import type { ModelSpec, PromptMessage } from '#domain/models/model-gateway.ts';
import type { ComposerOptions } from './message-composer.ts';
import type { OutputItem } from './output-items.ts';
import type { ResponseRequest } from './response-request.ts';

export interface TurnKey {
  tenantId: string;
  responseId: string;
  /** From 0. */
  iteration: number;
}

/** One attempt's hold on a turn: the fence, the place in the stream and all that the model call needs. */
export interface ClaimedTurn extends TurnKey {
  attempt: number;
  epoch: number;
  nextN: number;
  /** Messages of this turn that earlier attempts published as superseded. */
  closed: { outputIndex: number; item: OutputItem }[];
  composer: ComposerOptions;
  model: ModelSpec;
  messages: PromptMessage[];
  /** The vendor's own run of an earlier attempt, to be read again from its start. */
  resume: string | null;
  settings: ResponseRequest;
  maxOutputTokens: number;
}
