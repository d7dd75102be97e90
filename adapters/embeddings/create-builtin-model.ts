import { homedir } from 'node:os';
import { join } from 'node:path';
import { boundedFetch } from '../egress/bounded-fetch.ts';
import { createGuardedFetch } from '../egress/guarded-fetch.ts';
import { BuiltinModel, type BuiltinModelOptions } from './builtin-model.ts';
import { builtinPackage } from './builtin-package.ts';
import { modelFiles, type ModelFilesSource } from './model-files.ts';

/** Settings of the deployment; what is empty or absent has a default. */
export interface ModelFilesSettings {
  EMBEDDING_MODEL_URL?: string | undefined;
  EMBEDDING_MODEL_PATH?: string | undefined;
  EMBEDDING_CACHE_DIR?: string | undefined;
}

export function modelFilesSource(
  settings: ModelFilesSettings,
  env: Record<string, string | undefined>,
): ModelFilesSource {
  const url = settings.EMBEDDING_MODEL_URL || builtinPackage.url;
  // The operator has chosen the address, so it may be a private one.
  const fetch = createGuardedFetch([new URL(url).origin]);
  return {
    url,
    path: settings.EMBEDDING_MODEL_PATH || undefined,
    cacheDir: settings.EMBEDDING_CACHE_DIR || defaultCache(env),
    fetch: boundedFetch('model_files', { fetch }),
  };
}

/** The builtin model with the files of the settings; it looks for them when it is started or used. */
export function createBuiltinModel(
  source: ModelFilesSource,
  options: Omit<BuiltinModelOptions, 'find'> = {},
): BuiltinModel {
  return new BuiltinModel({ ...options, find: (signal) => modelFiles(source, signal) });
}

/** Outside the checkout, so that a fresh clone does not fetch again. */
function defaultCache(env: Record<string, string | undefined>): string {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache');
  return join(cache, 'platform', 'embedding-models');
}
