import { z } from 'zod';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import { piiModes, piiSettings } from '#domain/governance/policy/pii-settings.ts';
import { data, timestamp, uuid } from './common.ts';

/** Omitted settings take their defaults: a PUT replaces all settings of the space. */
export const updateGovernanceBody = z.strictObject({ pii: piiSettings }).meta({ id: 'UpdateGovernance' });

export const governanceSettings = z
  .strictObject({
    space_id: uuid,
    policy_version: z.int(),
    pii: z.strictObject({
      mode: z.enum(piiModes),
      kinds: z.array(z.enum(piiKinds)),
      restore_in_tool_arguments: z.array(z.string()),
      phone_countries: z.array(z.string()),
      presidio_url: z.string().nullable(),
      language: z.string(),
    }),
    updated_at: timestamp,
  })
  .meta({ id: 'SpaceGovernance' });

export type GovernanceRecord = z.infer<typeof governanceSettings>;

export const governanceEnvelope = data(governanceSettings);
