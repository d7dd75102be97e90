/** Those of `fields` that `given` has and that are not what `before` has; null is the same as not being there. */
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
