/** An error as the library throws it: a class of its own, known by its name. */
export function mlcError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

export const modelNotLoaded = (): Error =>
  mlcError(
    'ModelNotLoadedError',
    'Model not loaded before trying to complete ChatCompletionRequest. Please ensure you have called MLCEngine.reload(model)',
  );

/** What Emscripten throws as the runtime ends: no error, and without a string of its own. */
export class ExitStatus {
  readonly name = 'ExitStatus';
  readonly message: string;
  readonly status: number;

  constructor(status: number) {
    this.status = status;
    this.message = `Program terminated with exit(${status})`;
  }
}
