/** The `fields` present in `given` whose value differs from `before`; null equals absent. */
export function changedFields<Field extends string>(
  fields: readonly Field[],
  given: { readonly [F in Field]?: unknown },
  before: { readonly [F in Field]?: unknown },
): Field[] {
  return fields.filter(
    (field) =>
      given[field] !== undefined && JSON.stringify(given[field]) !== JSON.stringify(before[field] ?? null),
  );
}
