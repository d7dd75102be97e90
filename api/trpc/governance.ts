import { governanceEnvelope } from '#api/contract/governance.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentGovernance } from '#api/present/governance.ts';
import { readGovernance, updateGovernance } from '#domain/governance/policy/read-governance.ts';
import { procedure, reads, router } from './trpc.ts';

export const governance = router({
  get: procedure({ permission: 'governance.read', audit: reads })
    .input(inputs.spaceInput)
    .output(governanceEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId } }) => ({
      data: presentGovernance(await request.inContext(spaceId, readGovernance)),
    })),

  update: procedure({ permission: 'governance.update', audit: ['space.governance_updated'] })
    .input(inputs.updateGovernanceInput)
    .output(governanceEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, pii } }) => ({
      data: presentGovernance(await request.inContext(spaceId, (ctx) => updateGovernance(ctx, pii))),
    })),
});
