import { requestDeletionInput, tenantInput } from '#api/contract/procedures.ts';
import { deletionEnvelope, requestedDeletion } from '#api/contract/tenant-deletion.ts';
import { presentDeletion, presentRequested } from '#api/present/tenant-deletion.ts';
import { inDeletionOf } from '#api/tenant-deletion.ts';
import { cancelDeletion } from '#domain/operations/tenant-deletion/cancel-deletion.ts';
import { readDeletion } from '#domain/operations/tenant-deletion/read-deletion.ts';
import { requestDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';
import { procedure, reads, router } from './trpc.ts';

export const tenantDeletion = router({
  request: procedure({ permission: 'tenants.delete', audit: ['system.tenant_deletion_requested'] })
    .input(requestDeletionInput)
    .output(requestedDeletion)
    .mutation(async ({ ctx, input }) => {
      const requested = await inDeletionOf(ctx, input.tenant_id, (work) =>
        requestDeletion(work, {
          reasonCode: input.reason_code,
          graceSeconds: input.grace_seconds ?? null,
          defaultGraceSeconds: ctx.deps.config.DELETION_GRACE_SECONDS,
        }),
      );
      return { data: presentRequested(requested) };
    }),

  get: procedure({ permission: 'tenants.delete', audit: reads })
    .input(tenantInput)
    .output(deletionEnvelope)
    .query(async ({ ctx, input }) => ({
      data: presentDeletion(await inDeletionOf(ctx, input.tenant_id, readDeletion)),
    })),

  cancel: procedure({ permission: 'tenants.delete', audit: ['system.tenant_deletion_cancelled'] })
    .input(tenantInput)
    .output(deletionEnvelope)
    .mutation(async ({ ctx, input }) => {
      const deletion = await inDeletionOf(ctx, input.tenant_id, cancelDeletion);
      return { data: presentDeletion({ deletion, certificate: null }) };
    }),
});
