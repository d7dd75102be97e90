import type { GovernanceRecord } from '#api/contract/governance.ts';
import type { SpaceGovernance } from '#domain/governance/policy/read-governance.ts';

export function presentGovernance(governance: SpaceGovernance): GovernanceRecord {
  return {
    space_id: governance.spaceId,
    policy_version: governance.policyVersion,
    pii: governance.pii,
    updated_at: governance.updatedAt.toISOString(),
  };
}
