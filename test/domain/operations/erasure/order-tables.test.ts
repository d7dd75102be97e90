import { describe, expect, it } from 'vitest';
import { orderTables } from '#domain/operations/erasure/order-tables.ts';
import type { ForeignKey } from '#domain/operations/erasure/read-catalogue.ts';

type Edge = [child: string, parent: string, more?: Partial<ForeignKey>];

function order(names: string[], edges: Edge[]) {
  const foreignKeys = edges.map(([child, parent, more]) => ({
    child,
    parent,
    nullable: [],
    pairs: [],
    onDelete: 'refuse' as const,
    ...more,
  }));
  const tables = names.map((name) => ({ name, key: [], partitions: [] }));
  const { tables: ordered, unlinked, selfReferring } = orderTables({ tables, foreignKeys });
  return {
    ordered,
    unlinked: unlinked.map(({ child, parent }) => `${child}→${parent}`),
    self: selfReferring.map(({ child }) => child),
  };
}

describe('the order of tables', () => {
  it('puts each table before those that it refers to', () => {
    const edges: Edge[] = [
      ['child', 'parent'],
      ['grandchild', 'child'],
      ['grandchild', 'parent'],
    ];
    expect(order(['parent', 'child', 'grandchild', 'loner'], edges)).toEqual({
      ordered: ['grandchild', 'loner', 'child', 'parent'],
      unlinked: [],
      self: [],
    });
  });

  it('breaks a cycle where PostgreSQL deletes the children itself, and deletes the parent first', () => {
    const edges: Edge[] = [
      ['skills', 'versions', { nullable: ['current'] }],
      ['versions', 'skills', { onDelete: 'cascade' }],
    ];
    expect(order(['skills', 'versions'], edges)).toEqual({
      ordered: ['skills', 'versions'],
      unlinked: [],
      self: [],
    });
  });

  it('breaks another cycle at a foreign key that may be null', () => {
    const edges: Edge[] = [
      ['a', 'b'],
      ['b', 'c', { nullable: ['c_id'] }],
      ['c', 'a'],
    ];
    expect(order(['a', 'b', 'c'], edges)).toEqual({
      ordered: ['c', 'a', 'b'],
      unlinked: ['b→c'],
      self: [],
    });
  });

  it('knows tables that refer to themselves, and orders them as if they did not', () => {
    const edges: Edge[] = [
      ['tree', 'tree', { nullable: ['parent'] }],
      ['leaf', 'tree'],
    ];
    expect(order(['tree', 'leaf'], edges)).toEqual({
      ordered: ['leaf', 'tree'],
      unlinked: [],
      self: ['tree'],
    });
  });

  it('refuses a cycle that nothing can break, naming its tables', () => {
    const edges: Edge[] = [
      ['a', 'b'],
      ['b', 'a'],
      ['loner', 'a'],
    ];
    expect(() => order(['a', 'b', 'loner'], edges)).toThrow('The foreign keys of a, b form a cycle');
  });
});
