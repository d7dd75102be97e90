import { z } from 'zod';
import { data, page, pageQuery, timestamp, uuid } from './common.ts';

export const sessionParams = z.strictObject({ session_id: uuid });
export const sessionListQuery = z.strictObject(pageQuery);
export const adminSessionQuery = z.strictObject({ ...pageQuery, principal_id: uuid.optional() });

export const sessionRecord = z
  .strictObject({
    session_id: uuid,
    principal_id: uuid,
    identity_provider_id: uuid,
    status: z.enum(['active', 'expired', 'ended']),
    end_reason: z
      .enum([
        'logout',
        'revoked',
        'reuse',
        'superseded',
        'provider_disabled',
        'provider_changed',
        'principal_deleted',
      ])
      .nullable(),
    current: z.boolean().meta({ description: 'Whether this very request is of the session.' }),
    created_at: timestamp,
    last_used_at: timestamp,
    expires_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'Session' });

export type SessionRecord = z.infer<typeof sessionRecord>;

export const sessionEnvelope = data(sessionRecord);
export const sessionPage = page(sessionRecord);
