import type {
  OpaqueState,
  PromptReasoning,
  ProviderKind,
} from '#domain/capabilities/models/model-gateway.ts';

/** The owner of a provider state, which is sent back only to the same provider's same model. */
export interface StateOwner {
  providerKind: ProviderKind;
  providerModel: string;
}

/**
 * State that a provider needs back beside an item (`items.provider_state`), and the item's place in the provider's
 * own order: reasoning produced after a message was opened follows the message in the output, so the two orders
 * differ.
 * Never on our wire.
 */
export interface ProviderState {
  kind: ProviderKind;
  model: string;
  turn: number;
  place: number;
  /** Of a text or a call. */
  state?: OpaqueState;
  /** Of a reasoning item. */
  reasoning?: PromptReasoning[];
}

interface Stated {
  response_id: string;
  type: string;
  provider_state: ProviderState | null;
}

/** An item of the conversation with the state for this provider and model, and the turn that it came from. */
export interface Arranged<T> {
  row: T;
  turn: string | null;
  state: ProviderState | null;
}

/**
 * Restores the provider's order within each turn and removes state of other providers or models: their reasoning is
 * dropped, their texts and calls stay without state.
 */
export function arrange<T extends Stated>(rows: readonly T[], owner: StateOwner): Arranged<T>[] {
  // Reasoning without provider state is sent to no provider, and does not separate the items of its turn.
  const wanted = rows.filter((row) => row.type !== 'reasoning' || row.provider_state !== null);
  const arranged = wanted.map((row): Arranged<T> => {
    const state = row.provider_state;
    return { row, state, turn: state === null ? null : `${row.response_id}/${state.turn}` };
  });
  const kept = inTurns(arranged).flatMap((turn) => {
    const inOrder = turn.toSorted((a, b) => (a.state?.place ?? 0) - (b.state?.place ?? 0));
    // A call that was cut off leaves reasoning without a successor, which every provider refuses.
    return inOrder.slice(0, inOrder.findLastIndex(({ row }) => row.type !== 'reasoning') + 1);
  });
  return kept.flatMap((item) => {
    const mine = item.state?.kind === owner.providerKind && item.state.model === owner.providerModel;
    const state = mine ? item.state : null;
    return item.row.type === 'reasoning' && state?.reasoning === undefined ? [] : [{ ...item, state }];
  });
}

function inTurns<T>(items: readonly Arranged<T>[]): Arranged<T>[][] {
  const turns: Arranged<T>[][] = [];
  for (const item of items) {
    const last = turns.at(-1);
    if (last !== undefined && item.turn !== null && last[0]?.turn === item.turn) {
      last.push(item);
    } else {
      turns.push([item]);
    }
  }
  return turns;
}
