import { screenOffer } from '#domain/responses/accept/screen-request.ts';
import type { TurnOutcome } from '#domain/responses/turn/commit-turn.ts';
import { answerToolSearches, toolSearchName } from '#domain/responses/offer/tool-search.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { screen, type ScreeningDependencies } from './screening.ts';

/** A search for tools is read-only: it is part of the turn that requests it, and is committed with its result. */
export async function searchTools(
  deps: ScreeningDependencies,
  turn: ClaimedTurn,
  outcome: TurnOutcome,
): Promise<TurnOutcome> {
  if (!outcome.calls.some(({ name }) => name === toolSearchName)) {
    return outcome;
  }
  const answered = await deps.unitOfWork.inTenant(turn.tenantId, (em) =>
    answerToolSearches(em, turn, outcome.calls),
  );
  const { redaction } = turn.settings;
  if (redaction === undefined) {
    return { ...outcome, calls: answered };
  }
  const calls = await screen(deps, { ...turn, redaction }, (redactor) =>
    answered.map(({ found, ...call }) =>
      found === undefined
        ? call
        : {
            ...call,
            found: {
              result: redactor.maybeJson(found.result),
              offers: found.offers.map((offer) => screenOffer(offer, redactor)),
            },
          },
    ),
  );
  return { ...outcome, calls };
}
