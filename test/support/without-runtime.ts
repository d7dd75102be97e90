import { registerHooks } from 'node:module';

/** Preloaded into a process and its threads: the optional runtime of the builtin model is not installed. */
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === 'onnxruntime-node') {
      throw Object.assign(new Error('absent'), { code: 'ERR_MODULE_NOT_FOUND' });
    }
    return next(specifier, context);
  },
});
