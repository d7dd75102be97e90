type Json = Record<string, unknown>;

/**
 * The entries of a public price file for the named models: the whole file exceeds the request limit. The
 * first entry always stays, so that the gateway recognises the file.
 */
export function slimPriceFile(text: string, models: ReadonlySet<string>): Json {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Error('The price file is not JSON.');
  }
  const entries = Object.entries(isObject(document) ? document : {});
  return Object.fromEntries(
    entries.flatMap(([name, entry], at) => {
      if (isObject(entry) && isObject(entry.models)) {
        const known = Object.entries(entry.models).filter(([model]) => models.has(model));
        return known.length > 0 || at === 0
          ? [[name, { api: entry.api, models: Object.fromEntries(known.slice(0, 1_000)) }]]
          : [];
      }
      return at === 0 || models.has(name) || models.has(name.slice(name.indexOf('/') + 1))
        ? [[name, entry]]
        : [];
    }),
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
