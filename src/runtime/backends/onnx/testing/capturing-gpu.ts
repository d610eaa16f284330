/** The browser's `GPU`, with a list of the devices that were made through it. */
export function capturingGpu(): { gpu: GPU; devices: GPUDevice[]; descriptors: GPUDeviceDescriptor[] } {
  const devices: GPUDevice[] = [];
  const descriptors: GPUDeviceDescriptor[] = [];
  const gpu = {
    requestAdapter: async (options?: GPURequestAdapterOptions) => {
      const adapter = await navigator.gpu.requestAdapter(options);
      if (!adapter) return null;
      return new Proxy(adapter, {
        get(target, name) {
          if (name === 'requestDevice')
            return async (descriptor: GPUDeviceDescriptor) => {
              const device = await target.requestDevice(descriptor);
              devices.push(device);
              descriptors.push(descriptor);
              return device;
            };
          // Getters of WebGPU objects want the object itself as `this`.
          return Reflect.get(target, name, target) as unknown;
        },
      });
    },
  } as GPU;
  return { gpu, devices, descriptors };
}
