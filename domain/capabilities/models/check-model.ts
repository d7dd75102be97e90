import { invalid } from '#domain/foundation/kernel/errors.ts';
import type { NewModel } from './add-model.ts';

const alias = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;
const variable = /^[A-Z][A-Z0-9_]{0,127}$/;
const highest = 10_000_000;

/** Validates the settings of a model. @throws `invalid_request` naming the field */
export function checkModel(model: Omit<NewModel, 'price'>): void {
  const problems: [field: string, fine: boolean, message: string][] = [
    ['alias', alias.test(model.alias), 'must be 1 to 128 letters, digits and . _ : / -'],
    [
      'provider_model',
      /^[\x21-\x7e]{1,200}$/.test(model.providerModel),
      'must be 1 to 200 visible characters',
    ],
    [
      'credential_ref',
      model.credentialRef === null || variable.test(model.credentialRef),
      'must name a variable',
    ],
    ['base_url', model.baseUrl === null || isBaseUrl(model.baseUrl), 'must be a plain http or https URL'],
    [
      'base_url',
      model.providerKind !== 'openai_compatible' || model.baseUrl !== null,
      'is needed for openai_compatible',
    ],
    [
      'continuation',
      model.continuation !== 'replay' || model.providerKind === 'builtin',
      'replay is of builtin',
    ],
    [
      'continuation',
      model.continuation !== 'reattach' || model.providerKind === 'openai',
      'reattach is of openai: it keeps background answers',
    ],
    ['input_modalities', (model.inputModalities ?? ['text']).includes('text'), 'must hold text'],
    ['context_window', isCount(model.contextWindow), `must be between 1 and ${highest}`],
    ['max_output_tokens', isCount(model.maxOutputTokens), `must be between 1 and ${highest}`],
  ];
  const problem = problems.find(([, fine]) => !fine);
  if (problem !== undefined) {
    throw invalid(problem[0], `${problem[0]} ${problem[2]}.`);
  }
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= highest;
}

/** Credentials in a URL would be stored and shown. */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  );
}
