/** What the devices of this realm hold, seen from the API and not from a ledger of ours. */
export interface GpuWatch {
  /** Bytes of buffers that were made since the watch began and not destroyed, alone or with their device. */
  liveBytes(): number;
  /** Devices made since then, latest last. */
  readonly devices: readonly GPUDevice[];
  /** Puts the API back as it was. */
  stop(): void;
}

/** Watches every device that is made from now on. */
export function watchGpu(): GpuWatch {
  const devices: GPUDevice[] = [];
  const live = new Map<GPUDevice, Set<GPUBuffer>>();
  const requestDevice = Reflect.get(GPUAdapter.prototype, 'requestDevice');
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    watchDevice(device, live);
    devices.push(device);
    return device;
  };
  return {
    liveBytes: () => [...live.values()].flatMap((buffers) => [...buffers]).reduce((sum, { size }) => sum + size, 0),
    devices,
    stop: () => {
      GPUAdapter.prototype.requestDevice = requestDevice;
    },
  };
}

function watchDevice(device: GPUDevice, live: Map<GPUDevice, Set<GPUBuffer>>): void {
  const buffers = new Set<GPUBuffer>();
  live.set(device, buffers);
  // On the prototype the same methods count calls (`countGpuCalls`), so they are called through the prototype.
  device.createBuffer = (descriptor) => {
    const buffer = GPUDevice.prototype.createBuffer.call(device, descriptor);
    buffers.add(buffer);
    buffer.destroy = () => {
      buffers.delete(buffer);
      GPUBuffer.prototype.destroy.call(buffer);
    };
    return buffer;
  };
  device.destroy = () => {
    live.delete(device);
    GPUDevice.prototype.destroy.call(device);
  };
}
