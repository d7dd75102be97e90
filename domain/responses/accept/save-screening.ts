import type { Context } from '#domain/foundation/access/context.ts';
import type { Governance } from '#domain/responses/record/response-request.ts';
import type { ResolvedRequest } from './resolve-request.ts';
import {
  attributeTo,
  saveEntries,
  readMapping,
  type KnownEntry,
} from '#domain/governance/redaction/pii-mapping.ts';
import type { PiiSettings, Redaction } from '#domain/governance/policy/pii-settings.ts';
import { recordDetection } from '#domain/governance/redaction/record-detection.ts';
import type { ScreenedInput } from './screen-input.ts';

/** Keeps what the tokens of a response's input stand for. The response's row must be there. */
export async function saveScreening(
  ctx: Context,
  response: { id: string; spaceId: string },
  { redaction, found, inherited }: Omit<ScreenedInput, 'input'>,
): Promise<void> {
  const holder = redaction?.holders[0];
  if (holder === undefined) {
    return;
  }
  const { tenantId, principalId } = ctx.caller;
  const earlier = inherited.map(uncounted);
  await saveEntries(ctx, tenantId, { holder, entries: [...attributeTo(principalId, found), ...earlier] });
  await recordDetection(ctx.em, ctx.caller, {
    resource: { type: 'response', id: response.id },
    spaceId: response.spaceId,
    dedupeKey: `response/${response.id}/pii`,
    found,
  });
}

/** Says in a settled request what was looked for and how much was replaced. */
export function noteRedaction(
  resolved: ResolvedRequest,
  { redaction, found }: Pick<ScreenedInput, 'redaction' | 'found'>,
): void {
  if (redaction === null) {
    return;
  }
  resolved.request.redaction = redaction;
  resolved.governance.pii = shownDemand(redaction);
  resolved.governance.redactions = found.reduce(
    (sum, { type, count }) => sum + (type === 'text' ? 0 : count),
    0,
  );
}

/** What a response says of the demand that it was made under. */
function shownDemand({ mode, kinds }: PiiSettings): NonNullable<Governance['pii']> {
  return { mode: mode === 'block' ? 'block' : 'redact', kinds };
}

/** Has a response keep itself what the tokens of another one stand for; a thread keeps it anyway. */
export async function inheritEntries(
  ctx: Context,
  { holders }: Redaction,
  responseId: string,
): Promise<void> {
  const { tenantId } = ctx.caller;
  if (holders[0] === undefined || 'threadId' in holders[0]) {
    return;
  }
  const entries = [...(await readMapping(ctx, tenantId, holders)).values()];
  await saveEntries(ctx, tenantId, { holder: { responseId }, entries: entries.map(uncounted) });
}

/** What an earlier response found is kept on for those who brought it, and counted there. */
function uncounted(entry: KnownEntry): KnownEntry {
  return { ...entry, count: 0 };
}
