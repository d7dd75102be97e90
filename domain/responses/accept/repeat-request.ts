import type { Context } from '#domain/foundation/access/context.ts';
import { demandOf, type Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import type { PiiEntry } from '#domain/governance/redaction/redact.ts';
import { findSpace } from '#domain/workspace/spaces/find-space.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { noteRedaction } from './save-screening.ts';
import { screenRequest } from './screen-request.ts';

export type RepeatedRequest = Pick<Response, 'request' | 'governance'> & { demanded: Demanded | null };

/** Personal data of a request from before its space's demand. */
interface Demanded {
  redaction: Redaction;
  found: PiiEntry[];
}

/**
 * The request of a response that is restarted: the redaction mapping outlives the failed response, and a request from before the
 * space's demand is screened now.
 */
export async function repeatRequest(
  ctx: Context,
  failed: Response,
  { newId, names = null }: { newId: string; names?: FoundNames | null },
): Promise<RepeatedRequest> {
  const space = await findSpace(ctx.em, failed.spaceId);
  const { traced: _traced, ...governed } = failed.governance;
  const governance = space.traced ? { ...governed, traced: true as const } : governed;
  const { redaction } = failed.request;
  if (redaction !== undefined) {
    const [first] = redaction.holders;
    const holders =
      first !== undefined && 'responseId' in first ? [{ responseId: newId }, first] : redaction.holders;
    return {
      request: { ...failed.request, redaction: { ...redaction, holders } },
      governance,
      demanded: null,
    };
  }
  const demand = demandOf(space.policy);
  if (demand === null) {
    return { request: failed.request, governance, demanded: null };
  }
  const holder = failed.threadId == null ? { responseId: newId } : { threadId: failed.threadId };
  const demanded = { ...demand, scope: failed.threadId ?? newId, holders: [holder] };
  const { request, found } = screenRequest(ctx, failed.request, { redaction: demanded, names });
  const resolved = { request, governance };
  noteRedaction(resolved, { redaction: demanded, found });
  return { ...resolved, demanded: { redaction: demanded, found } };
}
