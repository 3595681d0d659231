import pytest
import torch

from mase.models.autograd import is_linear, is_sigmoid, last_operation


def linear(x):
    return x @ torch.ones(3, 2)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (linear, (True, False)),
        (lambda x: torch.nn.functional.linear(x, torch.ones(2, 3), torch.ones(2)), (True, False)),
        (lambda x: torch.bmm(x[None], torch.ones(1, 3, 2))[0], (True, False)),
        (lambda x: torch.sigmoid(linear(x)), (False, True)),
        (lambda x: torch.softmax(linear(x), dim=1), (False, False)),
    ],
)
def test_the_last_operation_is_seen_through_changes_of_shape(compute, expected):
    scores = compute(torch.ones(4, 3, requires_grad=True))
    shaped = scores.reshape(1, 4, 2).squeeze(0).permute(1, 0).transpose(0, 1)[:, :1].unsqueeze(2).view(-1).double()
    for tensor in (scores, shaped):
        name = last_operation(tensor)
        assert (is_linear(name), is_sigmoid(name)) == expected


def test_a_tensor_without_a_history_has_no_operation():
    assert last_operation(torch.ones(2)) == ""
