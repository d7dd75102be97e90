import { observabilityEnvelope, observabilityRemoved } from '#api/contract/observability.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentObservability } from '#api/present/observability.ts';
import { readObservability } from '#domain/operations/observability/read-observability.ts';
import { removeObservability, setObservability } from '#domain/operations/observability/set-observability.ts';
import { procedure, reads, router } from './trpc.ts';

export const observability = router({
  get: procedure({ permission: 'observability.read', audit: reads })
    .input(inputs.spaceInput)
    .output(observabilityEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId } }) => ({
      data: presentObservability(await request.inContext(spaceId, readObservability)),
    })),

  set: procedure({ permission: 'observability.update', audit: ['space.observability_updated'] })
    .input(inputs.setObservabilityInput)
    .output(observabilityEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const config = await request.inContext(input.space_id, (ctx) =>
        setObservability(ctx, {
          publicKey: input.tracing_public_key,
          secretKey: input.tracing_secret_key,
          projectId: input.tracing_project_id ?? null,
          baseUrl: input.tracing_base_url ?? null,
        }),
      );
      return { data: presentObservability(config) };
    }),

  remove: procedure({ permission: 'observability.update', audit: ['space.observability_updated'] })
    .input(inputs.spaceInput)
    .output(observabilityRemoved)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId } }) => {
      await request.inContext(spaceId, removeObservability);
      return { data: { space_id: spaceId, deleted: true as const } };
    }),
});
