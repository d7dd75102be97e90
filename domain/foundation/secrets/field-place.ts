import type { EntityManager } from '@mikro-orm/postgresql';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

/** A transaction of the field's tenant, with the deployment's keys. A `Context` is one. */
export interface FieldWork {
  em: EntityManager;
  secrets: Secrets;
}

/** The column of the row that stores a sealed field: a ciphertext can be decrypted only for this place. */
export interface FieldPlace {
  tenantId: string;
  table: string;
  column: string;
  /** The row's id within its tenant. */
  row: string;
}

export function associatedData(place: FieldPlace, keyId: string): Buffer {
  return Buffer.from([place.tenantId, place.table, place.column, place.row, keyId].join('|'));
}
