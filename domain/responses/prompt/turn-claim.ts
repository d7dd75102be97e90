import type { Actor } from '#domain/foundation/access/caller.ts';
import type { ModelSpec, PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import type { Price } from '#domain/capabilities/models/pricing.ts';
import type { ComposerOptions } from '#domain/responses/stream/message-composer.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import type { UsageSum } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import type { Turn } from '#domain/responses/record/turn.entity.ts';

/** One attempt's claim of a turn: the fence, the place in the stream and all that the model call needs. */
export interface ClaimedTurn extends TurnKey {
  attempt: number;
  epoch: number;
  nextN: number;
  /**
   * Items that earlier attempts at this turn published completely: superseded messages, and the reasoning before
   * them.
   */
  closed: { outputIndex: number; item: OutputItem }[];
  composer: ComposerOptions;
  model: ModelSpec;
  messages: PromptMessage[];
  /** The vendor's own run of an earlier attempt, to be read again from its start. */
  resume: string | null;
  settings: ResponseRequest;
  maxOutputTokens: number;
  held: HeldTurn;
}

/** The state of the response after the claim. It stays valid for as long as the attempt holds the lane. */
export interface HeldTurn {
  response: Response;
  turn: Omit<Turn, 'tenantId' | 'responseId' | 'createdAt'>;
  /** The finished items of the output so far, as JSON, in order. */
  output: string[];
  /** Of all settled attempts, without this one. */
  usage: UsageSum;
  price: Price;
  /** As they are reserved before the model is asked. */
  inputTokens: number;
  requester: Actor;
}
