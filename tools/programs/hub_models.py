"""sentence-transformers, peft, trl, effdet, facenet: models made from configurations."""

import warnings

import torch
from facenet_pytorch import InceptionResnetV1
from facenet_pytorch.models.mtcnn import ONet, PNet, RNet
from peft import IA3Config, LoraConfig, PromptTuningConfig, get_peft_model, get_peft_model_state_dict
from transformers import LlamaConfig, LlamaForCausalLM

warnings.filterwarnings("ignore")
torch.manual_seed(0)
llama = LlamaForCausalLM(
    LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=50,
    )
)
ids = torch.randint(0, 50, (2, 10))
for config in (
    LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    LoraConfig(r=4, use_dora=True, target_modules=["q_proj"], task_type="CAUSAL_LM"),
    IA3Config(
        target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"
    ),
    PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
):
    torch.manual_seed(1)
    model = get_peft_model(LlamaForCausalLM(llama.config), config)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    losses = []
    for _ in range(3):
        out = model(input_ids=ids, labels=ids)
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        losses.append(f"{out.loss.item():.5f}")
    print(type(config).__name__, losses, len(get_peft_model_state_dict(model)))
    if isinstance(config, LoraConfig):
        merged = model.merge_and_unload()
        print("merged", f"{merged(ids).logits.abs().mean().item():.5f}")
resnet = InceptionResnetV1(classify=False).eval()
with torch.no_grad():
    print("facenet", f"{resnet(torch.randn(1, 3, 160, 160)).abs().sum().item():.4f}")
    for net, size in (
        (PNet(pretrained=False), 12),
        (RNet(pretrained=False), 24),
        (ONet(pretrained=False), 48),
    ):
        print(type(net).__name__, [f"{o.sum().item():.4f}" for o in net(torch.randn(1, 3, size, size))])
