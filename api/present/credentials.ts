import type { z } from 'zod';
import type { credentialRecord } from '#api/contract/credentials.ts';
import type { Credential } from '#domain/capabilities/credentials/credential.entity.ts';

/** Without the value, which is decrypted only where it is sent. */
export function presentCredential(credential: Credential): z.infer<typeof credentialRecord> {
  return {
    id: credential.id,
    space_id: credential.spaceId ?? null,
    name: credential.name,
    kind: credential.kind,
    origin: credential.origin,
    header: credential.headerName ?? null,
    has_value: true,
    created_by: credential.createdBy,
    last_used_at: credential.lastUsedAt?.toISOString() ?? null,
    rotated_at: credential.rotatedAt.toISOString(),
    created_at: credential.createdAt.toISOString(),
    updated_at: credential.updatedAt.toISOString(),
  };
}
