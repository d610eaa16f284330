import { createEngine, type Engine } from 'tokenglass';
import 'tokenglass/ui';
import { createApp, h, onMounted, onUnmounted, shallowRef } from 'vue';

createApp({
  setup() {
    // Not `ref`: a reactive proxy of an engine has none of its private fields.
    const engine = shallowRef<Engine>();
    onMounted(async () => (engine.value = await createEngine({ model: 'tutor' })));
    onUnmounted(() => engine.value?.dispose());
    return () => h('tg-chat', { engine: engine.value, suggestions: ['What is TTFT?'] });
  },
}).mount('#app');
