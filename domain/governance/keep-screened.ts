import type { Context } from '#domain/access/context.ts';
import type { Settled } from '#domain/responses/settle-request.ts';
import { broughtBy, keepEntries } from './pii-mapping.ts';
import { recordDetection } from './record-detection.ts';
import type { ScreenedInput } from './screen-input.ts';

/** Keeps what the tokens of a response's input stand for. The response's row must be there. */
export async function keepScreened(
  ctx: Context,
  response: { id: string; spaceId: string },
  { redaction, found, inherited }: ScreenedInput,
): Promise<void> {
  const holder = redaction?.holders[0];
  if (holder === undefined) {
    return;
  }
  const { tenantId, principalId } = ctx.caller;
  // What an earlier response found is kept on for those who brought it, and counted there.
  const earlier = inherited.map((entry) => ({ ...entry, count: 0 }));
  await keepEntries(ctx, tenantId, { holder, entries: [...broughtBy(principalId, found), ...earlier] });
  await recordDetection(ctx.em, ctx.caller, {
    resource: { type: 'response', id: response.id },
    spaceId: response.spaceId,
    dedupeKey: `response/${response.id}/pii`,
    found,
  });
}

/** Says in a settled request what was looked for and how much was replaced. */
export function noteRedaction(settled: Settled, { redaction, found }: ScreenedInput): void {
  if (redaction === null) {
    return;
  }
  settled.request.redaction = redaction;
  settled.governance.pii = { mode: redaction.mode === 'block' ? 'block' : 'redact', kinds: redaction.kinds };
  settled.governance.redactions = found.reduce(
    (sum, { type, count }) => sum + (type === 'text' ? 0 : count),
    0,
  );
}
