import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import { inheritEntries, saveScreening } from './save-screening.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import { requireOffered } from '#domain/capabilities/skills/pin-skill.ts';
import { returnToThread } from './join-thread.ts';
import { repeatRequest, type RepeatedRequest } from './repeat-request.ts';
import { insertHead, type CreateLimits } from './insert-head.ts';
import { toHead } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { ResponseChange, writeWithin } from '#domain/responses/store/response-change.ts';
import { noUsage, toResponseRecord, type ResponseRecord } from '#domain/responses/record/response-record.ts';
import { modelError } from './resolve-request.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

/**
 * Repeats a failed response as a new response of the caller: the same request on the same context, with the limits
 * resolved then. The output of the failed one is not copied. Permissions that the caller has lost are refused when
 * they are used. Demands that the space has made since apply.
 * @throws `missing_permission`, `response_not_found` and its like, `model_not_allowed`, `invalid_state` unless it
 * failed and has no approved call that was begun or restarted before; as `returnToThread` does; `NamesNeeded`
 */
export async function restartResponse(
  ctx: Context,
  input: { responseId: string },
  options: { newId: string; limits: CreateLimits; names?: FoundNames | null },
): Promise<ResponseRecord> {
  const { caller, em } = ctx;
  const failed = await findOwn(ctx, input.responseId, 'responses.read');
  authorize(caller, 'responses.create');
  // A response that failed while it was blocked never received its whole context.
  if (failed.status !== 'failed' || !failed.hasWholeContext) {
    throw new DomainError(
      'invalid_state',
      'Only a failed response that had its whole input can be restarted.',
    );
  }
  await requireModel(ctx, failed);
  if (failed.request.skill !== undefined) {
    await requireOffered(ctx, failed.request.skill);
  }
  await applyConsent(ctx, failed, options.newId);
  const resolved = await repeatRequest(ctx, failed, options);
  const change = new ResponseChange(
    await insertHead(ctx, copyOf(failed, { id: options.newId, ...resolved }), options.limits),
  );
  const { response } = change;
  response.chainDepth = failed.chainDepth;
  // After the other locks, in the lock order of a new response.
  if (failed.threadId != null && failed.branchId != null) {
    const branch = { threadId: failed.threadId, branchId: failed.branchId };
    await returnToThread(ctx, branch);
    Object.assign(response, branch);
  }
  await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, position, item_id from response_context where response_id = ?`,
    [response.id, failed.id],
  );
  if (failed.request.redaction !== undefined) {
    await inheritEntries(ctx, failed.request.redaction, response.id);
  } else if (resolved.demanded !== null) {
    await saveScreening(ctx, response, { ...resolved.demanded, inherited: [] });
  }
  const record = toResponseRecord(toHead(response), [], noUsage);
  change.publish([{ type: 'response.created', response: record }]);
  change.enqueue(generationStart(response));
  if ((await writeWithin(em, change)) !== 'applied') {
    throw new Error('The new response was changed by somebody else.');
  }
  await recordEvent(em, caller, {
    type: 'space.response_restarted',
    resource: { type: 'response', id: failed.id },
    metadata: { space_id: failed.spaceId, restarted_as: response.id },
  });
  return record;
}

function copyOf(failed: Response, { id, request, governance }: { id: string } & RepeatedRequest) {
  const { spaceId, modelId, model, modelAlias, previousResponseId, fingerprint, metadata } = failed;
  const copied = { spaceId, modelId, model, modelAlias, previousResponseId, fingerprint, metadata };
  return { ...copied, id, request, governance };
}

/** An approval is for one call: it moves to the restarted response, unless the approved call was begun. */
async function applyConsent({ em }: Context, failed: Response, newId: string): Promise<void> {
  const wanted = failed.request.approved_calls.map((call) => call.approval_request_id);
  if (wanted.length === 0) {
    return;
  }
  const begun = await em.count(ToolCall, {
    responseId: failed.id,
    approvalRequestId: wanted,
    status: { $ne: 'planned' },
  });
  const moved =
    begun > 0
      ? []
      : await em.execute(
          `update items set answered_by = ? where answered_by = ?
             and id in (select jsonb_array_elements_text(?::jsonb)) returning id`,
          [newId, failed.id, JSON.stringify(wanted)],
        );
  if (moved.length < wanted.length) {
    throw new DomainError('invalid_state', 'A call that it was given consent for may not be made again.');
  }
}

async function requireModel(ctx: Context, { modelId, modelAlias, spaceId }: Response): Promise<void> {
  const model = await ctx.em.findOneOrFail(Model, { id: modelId });
  const allowed = await ctx.em.count(SpaceModel, { spaceId, modelId });
  if (model.disabledAt != null || allowed === 0) {
    throw modelError(modelAlias, { known: true, spaceId });
  }
}
