import {
  BigIntType,
  EntityComparator,
  MetadataStorage,
  wrap,
  type EntityClass,
  type EntityMetadata,
} from '@mikro-orm/core';
import { own } from '#domain/foundation/kernel/own.ts';

interface Mapping {
  metadata: EntityMetadata;
  comparator: EntityComparator;
  /** By the names of the properties. */
  columns: Map<string, string>;
}

const mappings = new WeakMap<object, Mapping>();

/** What the ORM knows of the entities with this prototype; it does once one has been created in the process. */
function mappingOf(prototype: object): Mapping {
  let mapping = mappings.get(prototype);
  if (mapping === undefined) {
    // Of a sample, since the ORM marks each object that is asked for its metadata.
    const { __meta: metadata, __platform: platform } = wrap(Object.create(prototype) as object, true);
    const rounded = metadata.props.find(({ customType }) => customType instanceof BigIntType);
    if (rounded !== undefined) {
      const property = `${metadata.className}.${String(rounded.name)}`;
      throw new Error(`${property} is a bigint, which JSON rounds: read it as text.`);
    }
    const comparator = new EntityComparator(new MetadataStorage(), platform);
    const columns = new Map(metadata.props.map(({ name, fieldNames: [column] }) => [name, column ?? name]));
    mapping = { metadata, comparator, columns };
    mappings.set(prototype, mapping);
  }
  return mapping;
}

/** A row that hot SQL answered as JSON, as its entity: the ORM does not manage it and writes nothing of it. */
export function toEntity<T extends object>({ prototype }: EntityClass<T>, row: object): T {
  const { metadata, comparator } = mappingOf(prototype);
  return Object.assign(Object.create(prototype) as T, comparator.mapResult(metadata, row));
}

/** The same values once more, to be changed apart from the first. */
export function copyEntity<T extends object>(entity: T): T {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object) as T, entity);
}

/** The columns in which `now` differs from `before`; null when it does in none. */
export function changedColumns(before: object, now: object): Record<string, unknown> | null {
  const old = before as Record<string, unknown>;
  const changed = Object.entries(now).filter(([name, value]) => value !== own(old, name));
  if (changed.length === 0) {
    return null;
  }
  const { columns } = mappingOf(Object.getPrototypeOf(now) as object);
  return Object.fromEntries(changed.map(([name, value]) => [columns.get(name) ?? name, value as unknown]));
}

/** A new row with the names of its columns. */
export function toColumns(row: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [toColumn(name), value as unknown]));
}

function toColumn(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
