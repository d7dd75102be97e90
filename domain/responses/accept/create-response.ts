import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import { saveScreening, noteRedaction } from './save-screening.ts';
import { screenInput } from './screen-input.ts';
import { screenRequest } from './screen-request.ts';
import { claimKey } from '#domain/foundation/idempotency/idempotency.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { toEntity } from '#domain/foundation/persistence/rows.ts';
import { checkInput, joinChain } from './chain.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { toHead } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { insertHead, type CreateLimits } from './insert-head.ts';
import { ResponseChange, writeWithin } from '#domain/responses/store/response-change.ts';
import { noUsage, toResponseRecord, type ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import { modelError, resolveRequest } from './resolve-request.ts';
import { answerApprovals } from './tool-input.ts';

export type Created =
  | { kind: 'created'; record: ResponseRecord; request: ResponseRequest }
  | { kind: 'replayed'; responseId: string };

/**
 * Accepts a response: head, context snapshot, event 0 and the pending workflow start in one transaction. The caller
 * creates the id, so that a commit in doubt can be looked up.
 */
export async function createResponse(
  ctx: Context,
  asked: CreateResponseInput,
  options: { responseId: string; limits: CreateLimits; names?: FoundNames | null },
): Promise<Created> {
  authorize(ctx.caller, 'responses.create');
  const { responseId, limits, names = null } = options;
  if (asked.idempotency !== null) {
    const winner = await claimKey(ctx, asked.idempotency, responseId);
    if (winner !== responseId) {
      return { kind: 'replayed', responseId: winner };
    }
  }
  const { space, model } = await resolveModel(ctx, asked);
  const screened = await screenInput(ctx, asked, { space, responseId, names });
  const { input } = screened;
  const resolved = await resolveRequest(ctx, input, { space, model });
  resolved.request.approved_calls = await answerApprovals(ctx, input, responseId);
  if (screened.redaction !== null) {
    const { redaction } = screened;
    const { request, found } = screenRequest(ctx, resolved.request, { redaction, names });
    resolved.request = request;
    screened.found.push(...found);
  }
  noteRedaction(resolved, screened);
  const change = new ResponseChange(
    await insertHead(
      ctx,
      {
        id: responseId,
        spaceId: space.id,
        modelId: model.id,
        model: model.providerModel,
        modelAlias: model.alias,
        previousResponseId: input.previousResponseId,
        request: resolved.request,
        fingerprint: input.fingerprint,
        governance: resolved.governance,
        metadata: input.metadata,
      },
      limits,
    ),
  );
  const { response } = change;
  await joinChain(ctx, input, change, model.contextWindow);
  await saveScreening(ctx, response, screened);
  const record = toResponseRecord(toHead(response), [], noUsage);
  change.publish([{ type: 'response.created', response: record }]);
  if (response.blockedBy == null) {
    change.enqueue(generationStart(response));
  } else {
    change.publish([{ type: 'response.queued', response: record }]);
  }
  if ((await writeWithin(ctx.em, change)) !== 'applied') {
    throw new Error('The new response was changed by somebody else.');
  }
  await checkInput(ctx, input, { change, contextWindow: model.contextWindow });
  hitFailpoint('create.before_commit');
  return { kind: 'created', record, request: resolved.request };
}

async function resolveModel(
  ctx: Context,
  { spaceId, modelAlias }: CreateResponseInput,
): Promise<{ space: Space; model: Model }> {
  const [found] = await ctx.em.execute<{ space: object; model: object | null; allowed: boolean }[]>(
    'select * from app.read_admission(?, ?, ?)',
    [ctx.caller.tenantId, spaceId, modelAlias],
  );
  if (found === undefined) {
    throw notFound('space_not_found');
  }
  const model = found.model === null ? null : toEntity(Model, found.model);
  if (model === null || model.disabledAt != null || !found.allowed) {
    throw modelError(modelAlias, { known: model !== null, spaceId });
  }
  return { space: toEntity(Space, found.space), model };
}
