import type { ModelInfo } from './info.ts';

/** The fields of a {@link ModelInfo} that are numbers. */
type ModelNumber = {
  [Name in keyof ModelInfo]-?: ModelInfo[Name] extends number ? Name : never;
}[keyof ModelInfo];

/** A number of a model; nothing where the engine has no way to know it, which {@link ModelInfo} tells by `unknown`, and a 0. */
export const modelNumber = (model: Pick<ModelInfo, ModelNumber | 'unknown'>, name: ModelNumber): number | undefined =>
  model.unknown?.includes(name) ? undefined : model[name];
