import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';

/**
 * Seals name and email under the principal's own key, for events to copy: erasing the key makes them unreadable in
 * every past event. A later change of either clears its sealed form until this runs again; the sealing sweep seals
 * the rest.
 */
export async function sealPrincipal(
  work: FieldWork,
  principal: {
    tenantId: string;
    id: string;
    name?: string | null | undefined;
    email?: string | null | undefined;
  },
): Promise<void> {
  const { tenantId, id, name, email } = principal;
  const seal = async (column: 'name' | 'email', text: string | null | undefined): Promise<string | null> =>
    text == null ? null : sealField(work, { tenantId, table: 'principals', column, row: id }, text, id);
  const sealedName = await seal('name', name);
  const sealedEmail = await seal('email', email);
  await work.em.execute(
    `update principals set sealed_name = ?, sealed_email = ?
     where tenant_id = ? and id = ? and name is not distinct from ? and email is not distinct from ?`,
    [sealedName, sealedEmail, tenantId, id, name ?? null, email ?? null],
  );
}
