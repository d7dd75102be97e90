import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type {
  ModelPart,
  OpaqueState,
  PromptReasoning,
  ReasoningSummary,
} from '#domain/capabilities/models/model-gateway.ts';
import type { RequestedCall } from '#domain/responses/store/requested-call.ts';
import type { ProviderState, StateOwner } from '#domain/responses/record/provider-state.ts';
import type { Reasoned } from './reasoning-items.ts';

type Reasoning = Extract<ModelPart, { type: 'reasoning' }>;

/** Records the output of a model call other than its text, each part with its place in the provider's own order. */
export class TurnRecorder {
  readonly #of: StateOwner & { turn: number; summary: ReasoningSummary | null };
  readonly #reasoned: { place: number; parts: Reasoning[] }[] = [];
  /** Number of reasoning items that were drained. */
  #taken = 0;
  readonly calls: RequestedCall[] = [];
  #text: { place: number; state?: OpaqueState } | null = null;
  #place = 0;
  #reasoning = false;

  constructor(of: StateOwner & { turn: number; summary: ReasoningSummary | null }) {
    this.#of = of;
  }

  take(part: ModelPart): void {
    switch (part.type) {
      case 'reasoning':
        this.#addReasoning(part);
        break;
      case 'text':
        this.#text ??= { place: this.#next() };
        this.#reasoning = false;
        break;
      case 'text_state':
        this.#text = { place: this.#text?.place ?? this.#next(), state: storableState(part.state) };
        break;
      case 'tool_call':
        this.#reasoning = false;
        this.calls.push({
          name: cleanText(part.name),
          arguments: cleanText(part.arguments),
          providerState: this.#state(
            this.#next(),
            part.state === null ? {} : { state: storableState(part.state) },
          ),
        });
        break;
      case 'run':
      case 'finish':
    }
  }

  /** Neighbouring pieces are one item with as many parts. */
  #addReasoning(part: Reasoning): void {
    const last = this.#reasoning ? this.#reasoned.at(-1) : undefined;
    if (last === undefined) {
      this.#reasoned.push({ place: this.#next(), parts: [part] });
    } else {
      last.parts.push(part);
    }
    this.#reasoning = true;
  }

  /** The finished reasoning since the last drain. Called where reasoning has ended: at text and at the end. */
  drainReasoned(): Reasoned[] {
    const finished = this.#reasoned.slice(this.#taken);
    this.#taken = this.#reasoned.length;
    return finished.map(({ place, parts }) => ({
      summary:
        this.#of.summary === null
          ? []
          : parts.flatMap(({ text, summary }) => (summary && text !== '' ? [cleanText(text)] : [])),
      providerState: this.#state(place, {
        reasoning: parts.map(({ text, state }): PromptReasoning => ({
          text: cleanText(text),
          state: storableState(state),
        })),
      }),
    }));
  }

  /** The state of the turn's text; null if nothing in the turn depends on its place. */
  get textState(): ProviderState | null {
    const text = this.#text;
    if (text?.state === undefined && this.calls.length === 0 && this.#reasoned.length === 0) {
      return null;
    }
    // The text of an earlier attempt, to which this one added nothing, precedes the first call.
    const place = text?.place ?? (this.calls[0]?.providerState?.place ?? this.#place) - 0.5;
    return this.#state(place, text?.state === undefined ? {} : { state: text.state });
  }

  #next(): number {
    return this.#place++;
  }

  #state(place: number, rest: Pick<ProviderState, 'state' | 'reasoning'>): ProviderState {
    const { providerKind, providerModel, turn } = this.#of;
    return { kind: providerKind, model: providerModel, turn, place, ...rest };
  }
}

/** Removes characters that jsonb cannot store. */
function storableState(state: OpaqueState): OpaqueState {
  return JSON.parse(JSON.stringify(state), (_key, value: unknown) =>
    typeof value === 'string' ? cleanText(value) : value,
  ) as OpaqueState;
}
