import type { TestGateway } from './gateway.ts';

/** The names of the calls of hot SQL that a gateway makes while `work` runs. */
export async function statementsDuring(
  { gateway: { database } }: TestGateway,
  work: () => Promise<unknown>,
): Promise<string[]> {
  const call = database.call.bind(database);
  const names: string[] = [];
  database.call = (name, text, values) => {
    names.push(name);
    return call(name, text, values);
  };
  try {
    await work();
    return names;
  } finally {
    database.call = call;
  }
}
