import { own } from '#domain/foundation/kernel/own.ts';

/** Origins to which the vendors' own keys may be sent; a listed variable with an address goes there instead. */
const vendors: Record<string, string> = {
  OPENAI_API_KEY: 'https://api.openai.com',
  ANTHROPIC_API_KEY: 'https://api.anthropic.com',
  GOOGLE_GENERATIVE_AI_API_KEY: 'https://generativelanguage.googleapis.com',
};

/**
 * Sends a key to its own vendor only. A principal who may add a model also names its address, and must not be able to
 * have a key of the deployment sent there. `listed` holds `NAME` or `NAME@https://address`.
 */
export function createCredentials(
  listed: readonly string[],
  env: Record<string, string | undefined>,
): (ref: string, url: string) => string | undefined {
  const origins = new Map(
    listed.map((entry) => {
      const [name = '', address = own(vendors, name)] = entry.split('@', 2);
      return [name, address === undefined ? null : new URL(address).origin];
    }),
  );
  return (ref, url) => {
    const origin = origins.get(ref) ?? null;
    return origin !== null && URL.parse(url)?.origin === origin ? own(env, ref) : undefined;
  };
}
