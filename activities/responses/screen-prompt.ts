import { Context as ActivityContext } from '@temporalio/activity';
import { countTokens } from '#domain/governance/redaction/pii-tokens.ts';
import { screenMessages } from '#domain/responses/prompt/screen-messages.ts';
import { reserveInput } from '#domain/responses/turn/reserve-input.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { commitWithRetry } from './commit-with-retry.ts';
import { screen, type ScreeningDependencies } from './screening.ts';

/**
 * The last step before the prompt is sent to a provider: personal data in it is a token by now, whatever its source.
 * From here on its input counts as used, whatever becomes of the attempt. Without settings of the space, the prompt is
 * unchanged, and the claim has reserved it.
 * @throws Fenced; errors of `screen`; the reason of a cancellation, at once
 */
export async function screenPrompt(deps: ScreeningDependencies, turn: ClaimedTurn): Promise<ClaimedTurn> {
  const { redaction } = turn.settings;
  if (redaction === undefined) {
    return turn;
  }
  const published = turn.composer.open?.text ?? '';
  const screened = screen(deps, { ...turn, redaction }, (redactor) =>
    screenMessages(turn.messages, published, redactor),
  );
  // A thread for long texts may be waited for beyond the shutdown of this worker.
  const messages = await Promise.race([screened, ActivityContext.current().cancelled]);
  if (turn.resume === null) {
    await commitWithRetry(
      () => deps.unitOfWork.inTenant(turn.tenantId, (em) => reserveInput(em, turn)),
      ActivityContext.current().cancellationSignal,
    );
  }
  return { ...turn, messages, composer: { ...turn.composer, citedBehind } };
}

/** Position data of a citation for readers who see values: it depends on the tokens before it. */
function citedBehind(text: string): { tokens_before?: Record<string, number> } {
  const tokens = countTokens(text);
  return Object.keys(tokens).length === 0 ? {} : { tokens_before: tokens };
}
